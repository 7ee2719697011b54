/* More random queries over computed fields. */
import './computed-conditions.test.js';
