// Larger imports, canceled at more moments.
import './cancel.test.js';
