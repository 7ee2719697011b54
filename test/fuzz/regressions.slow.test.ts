// 150 random inputs of every reader.
import './regressions.test.js';
