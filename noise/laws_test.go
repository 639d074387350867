package noise

import "testing"

func TestLaplaceTails(t *testing.T)          { testTails(t, "laplace", 2e-15, NewLaplace) }
func TestGaussianTails(t *testing.T)         { testTails(t, "gaussian", 2e-14, NewGaussian) }
func TestDiscreteLaplaceTails(t *testing.T)  { testTails(t, "discretelaplace", 2e-15, NewDiscreteLaplace) }
func TestDiscreteGaussianTails(t *testing.T) { testTails(t, "discretegaussian", 1e-13, NewDiscreteGaussian) }
