// The test with 10,000 random splits.
import './jsonl.test.js';
