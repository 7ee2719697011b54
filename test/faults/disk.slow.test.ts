// Every kind of fault at every step.
import './disk.test.js';
