// Repeats the tests of `gff3.test.js` with each file uncompressed and in both compressions.
import './gff3.test.js';
