// Interruptions at more moments.
import './resume.test.js';
