// The test with more random cuts.
import './vcf.test.js';
