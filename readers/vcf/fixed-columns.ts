import { AppError } from '../../engine/core/errors.js';

const expected: Readonly<Record<string, readonly [string, boolean]>> = {
  genomic_coordinates: ['object', false],
  variant: ['string', false],
  allele: ['string', false],
  row_id: ['string', false],
  reference_allele: ['string', false],
  alternate_alleles: ['string', true],
  qual: ['double', false],
  filter: ['string', true],
};

/** Whether a column that the dataset has already can take what every record of a VCF has under that name. */
export function checkType(name: string, type: string, isList: boolean): void {
  const [wanted, wantsList] = expected[name]!;
  const isText = wanted === 'string' && (type === 'text' || type === 'blob');
  if ((type !== wanted && !isText) || isList !== wantsList)
    throw typeConflict(
      name,
      `${isList ? 'list of ' : ''}${type}`,
      `${wantsList ? 'list of ' : ''}${wanted}`,
    );
}

/** The error when it cannot. */
export function typeConflict(name: string, found: string, wanted: string): AppError {
  return new AppError(
    'invalid',
    `field ${name} is of type ${found} in this dataset, a VCF record needs ${wanted}: import into another dataset`,
    {
      dataset_id: [`Field ${name} is of type ${found}, a VCF record needs ${wanted}`],
    },
  );
}
