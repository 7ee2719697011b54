// 1,000 operations.
import './history.test.js';
