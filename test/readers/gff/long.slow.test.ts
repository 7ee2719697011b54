// Also without odd lines, and without validation.
import './long.test.js';
