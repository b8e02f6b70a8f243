"""The bundled samples, authored in code: planted feet, two-bone legs, smooth curves and a little physics."""
