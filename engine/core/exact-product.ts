/** The error of the rounded product `high` of two doubles, exactly (Dekker's product, with Veltkamp's splitting). */
export function lowPart(a: number, b: number, high: number): number {
  const scaledA = a * 134_217_729;
  const highA = scaledA - (scaledA - a);
  const lowA = a - highA;
  const scaledB = b * 134_217_729;
  const highB = scaledB - (scaledB - b);
  const lowB = b - highB;
  return lowA * lowB - (high - highA * highB - lowA * highB - highA * lowB);
}
