/* Runs `computed-conditions.test.js` with more random queries over computed fields. */
import './computed-conditions.test.js';
