// 2,000 random files, 600 random texts, and every size of a chunk.
import './random.test.js';
