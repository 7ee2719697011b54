// The test with more values that are no ids, and the empty text for every other key.
import './body-ids.test.js';
