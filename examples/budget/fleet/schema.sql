-- One row per budget. SQLite and PostgreSQL both take this text.
--
-- A row changes only by UPDATE … WHERE version = (the version that was read), which adds one to the
-- version. At any time ledger and leases together are at least what all servers have spent.
CREATE TABLE IF NOT EXISTS dp_budgets (
    name    TEXT PRIMARY KEY,
    version BIGINT NOT NULL, -- number of changes
    rule    TEXT   NOT NULL, -- how the budget adds up: 'mu', or 'rho' and the δ of escapes
    ledger  BYTEA  NOT NULL, -- a budget.Ledger with what is spent for certain
    leases  TEXT   NOT NULL  -- JSON: the open leases, each with what is booked for it
)
