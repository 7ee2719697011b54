import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Data } from 'apache-arrow';
import { afterAll, expect, test } from '@jest/globals';
import { BatchBuilder } from '../../../../engine/ingest/batch.js';
import { openSource } from '../../../../readers/source/open-source.js';
import { loadChunk } from '../../../../readers/source/load-chunk.js';
import { vcfReader } from '../../../../readers/vcf/vcf.js';
import { runChunk } from '../../../../scheduler/jobs/import/chunk.js';
import { targetChunkBytes } from '../../../../scheduler/jobs/import/source-layout.js';
import { RecordingCollector } from '../../../readers/read-all.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-memory-'));
afterAll(() => rmSync(folder, { recursive: true }));

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

interface VcfShape {
  readonly name: string;
  readonly samples: number;
  readonly formatKeys: number;
  readonly infoKeys: number;
  readonly call: string;
  readonly format: string;
}

const vcfShapes: readonly VcfShape[] = [
  { name: 'genotypes', samples: 2504, formatKeys: 0, infoKeys: 2, call: '0|0', format: 'GT' },
  { name: 'thirty keys', samples: 2504, formatKeys: 30, infoKeys: 2, call: '0|0', format: 'GT' },
  { name: 'depths', samples: 2504, formatKeys: 1, infoKeys: 2, call: '0|1:12,3:15:99', format: 'GT:AD:DP:GQ' },
  { name: 'sites of many keys', samples: 0, formatKeys: 0, infoKeys: 800, call: '', format: '' },
]; // prettier-ignore

function vcfTextOf(
  { samples: sampleCount, formatKeys, infoKeys, call, format }: VcfShape,
  records: number,
): string {
  let text = '##fileformat=VCFv4.2\n';
  for (let i = 0; i < infoKeys; i++)
    text += `##INFO=<ID=K${i},Number=${i % 2 === 0 ? '1' : 'A'},Type=${i % 3 === 0 ? 'String' : 'Float'},Description="x">\n`;
  const keys = ['GT:1:String', 'AD:R:Integer', 'DP:1:Integer', 'GQ:1:Integer'];
  for (let i = 0; i < formatKeys; i++) keys.push(`F${i}:${i % 2 === 0 ? '1' : 'R'}:Integer`);
  for (const key of sampleCount === 0 ? [] : keys) {
    const [id, number, type] = key.split(':');
    text += `##FORMAT=<ID=${id},Number=${number},Type=${type},Description="x">\n`;
  }
  const names = Array.from({ length: sampleCount }, (_, i) => `\tHG${10_000 + i}`).join('');
  const calls = sampleCount === 0 ? '' : `\t${format}${`\t${call}`.repeat(sampleCount)}`;
  text += `#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO${sampleCount === 0 ? '' : '\tFORMAT'}${names}\n`;
  for (let i = 1; i <= records; i++)
    text += `22\t${i}\trs${i}\tA\tG\t100\tPASS\tK0=x;K1=0.5${calls}\n`;
  return text;
}

function arrowDataBytes(data: Data): number {
  const ownBuffers = [data.valueOffsets, data.values, data.nullBitmap] as readonly (ArrayBufferView | undefined)[];
  return (
    ownBuffers.reduce((sum, part) => sum + (part?.byteLength ?? 0), 0) +
    data.children.reduce((sum, child) => sum + arrowDataBytes(child), 0)
  );
} // prettier-ignore

test.each(vcfShapes)(
  'a chunk of $name takes no more memory than its target size allows',
  async (shape) => {
    const path = join(folder, 'shape.vcf');
    writeFileSync(path, vcfTextOf(shape, shape.samples === 0 ? 3000 : 16));
    const source = await openSource(path, 'shape.vcf');
    try {
      const params = vcfReader.params({});
      const { header, memoryPerByte, bodyOffset } = await vcfReader.header(source.head, params);
      for await (const { ref } of source.chunks(bodyOffset, 1 << 28)) {
        const out = new BatchBuilder();
        const bytes = await loadChunk(ref);
        vcfReader.read(bytes, header, params, out, new RecordingCollector(), {
          columns: [],
          isFinal: false,
        });
        const memory = arrowDataBytes(out.finish().data.data);
        // The estimate must not be so high that chunks become needlessly small.
        expect(memory / bytes.length).toBeLessThan(memoryPerByte! * 1.1);
        expect(memory / bytes.length).toBeGreaterThan(memoryPerByte! / 3);
      }
      const hugeFile = { bytes: 2 ** 40, compression: 'plain' } as const;
      expect(targetChunkBytes(hugeFile, 2, memoryPerByte) * memoryPerByte!).toBeLessThanOrEqual(
        96 << 20,
      );
    } finally {
      await source.close();
    }
  },
);

test('the size of a chunk of lines with many annotations takes the resulting records into account', async () => {
  const path = join(folder, 'exploded.vcf');
  const annotations = Array.from({ length: 50 }, (_, i) => `T|a${i}|GENE${i}`).join(',');
  let text = '##fileformat=VCFv4.2\n';
  text += `##INFO=<ID=ANN,Number=.,Type=String,Description="'Allele | Annotation | Gene_Name'">\n`;
  text += '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n';
  for (let i = 1; i <= 500; i++)
    text += `22\t${i}\t.\tA\tT\t.\t.\tNOTE=${'x'.repeat(400)};ANN=${annotations}\n`;
  writeFileSync(path, text);
  const source = await openSource(path, 'exploded.vcf');
  try {
    const params = vcfReader.params({ explode_annotations: true });
    const { header, memoryPerByte, bodyOffset } = await vcfReader.header(source.head, params);
    for await (const { ref } of source.chunks(bodyOffset, 1 << 28)) {
      const out = new BatchBuilder();
      const bytes = await loadChunk(ref);
      vcfReader.read(bytes, header, params, out, new RecordingCollector(), {
        columns: [],
        isFinal: false,
      });
      expect(out.rows).toBe(25_000);
      const memory = arrowDataBytes(out.finish().data.data);
      expect(memory / bytes.length).toBeLessThan(memoryPerByte! * 1.1);
      expect(memory / bytes.length).toBeGreaterThan(memoryPerByte! / 3);
    }
  } finally {
    await source.close();
  }
});

test('memory does not grow with the number of records of 2,504 samples', async () => {
  const peaks: number[] = [];
  const counts: number[] = [];
  for (const records of [24, 24, 72]) {
    const path = join(folder, `${records}.vcf`);
    writeFileSync(path, vcfTextOf(vcfShapes[2]!, records));
    const source = await openSource(path, `${records}.vcf`);
    let peak = 0;
    let storedCount = 0;
    try {
      const params = vcfReader.params({});
      const { header, bodyOffset } = await vcfReader.header(source.head, params);
      let index = 0;
      for await (const { ref } of source.chunks(bodyOffset, 256 << 10)) {
        const result = await runChunk({
          ref,
          index,
          reader: 'vcf',
          header,
          params,
          columns: [],
          isFinal: false,
          validation: { disable: false, raiseOnErrors: false, strict: false, allowNewFields: true },
          sampling: null,
          transient: [],
          commitId: 123_456_789_012_345,
          file: join(folder, `${records}-${index}.parquet`),
          isDryRun: false,
          isIntermediate: false,
          rejectedBytes: 0,
        });
        index++;
        storedCount += result.stored;
        collectGarbage();
        peak = Math.max(peak, process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed);
      }
    } finally {
      await source.close();
    }
    peaks.push(peak);
    counts.push(storedCount);
  }
  expect(counts).toEqual([24, 24, 72]);
  // The first run is not compared, because it fills the pool of buffers.
  expect(peaks[2]! / peaks[1]!).toBeLessThan(1.1);
});
