// Repeats the tests of `jsonl.test.js` with 10,000 random splits.
import './jsonl.test.js';
