/** What a progress line shows. `percent` is null when nothing tells how much there is. */
export interface Shown {
  readonly title: string;
  readonly percent: number | null;
  readonly records: number;
  readonly perSecond: number;
}

const width = 24;

/** `clinvar  [#########---------------]  38 %  26,334 records  61,200/s` */
export function progressLine({ title, percent, records, perSecond }: Shown): string {
  const counts = `${grouped(records)} records  ${grouped(perSecond)}/s`;
  if (percent === null) return `${title}  ${counts}`;
  const full = Math.round((Math.min(100, Math.max(0, percent)) / 100) * width);
  const bar = '#'.repeat(full) + '-'.repeat(width - full);
  return `${title}  [${bar}]  ${String(Math.floor(percent)).padStart(3)} %  ${counts}`;
}

/** 69302 as `69,302`. */
export function grouped(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}
