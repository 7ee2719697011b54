// More random cuts.
import './vcf.test.js';
