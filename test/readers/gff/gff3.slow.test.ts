// Each file in all three layers.
import './gff3.test.js';
