// Repeats the tests of `vcf.test.js` with more random cuts.
import './vcf.test.js';
