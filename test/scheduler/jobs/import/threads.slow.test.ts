// Pools of 1, 2, 4 and 8 threads.
import './threads.test.js';
