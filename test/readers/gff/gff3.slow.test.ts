// The test of each file in all three layers.
import './gff3.test.js';
