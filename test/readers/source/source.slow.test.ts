// 10,000 random splits, and each real file cut at 500 places.
import './source.test.js';
