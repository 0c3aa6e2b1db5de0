import type { HeapProfiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';

const HEAP_SAMPLE_BYTES = 1_024;

const bytesBelow = ({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number =>
  children.reduce((sum, child) => sum + bytesBelow(child), selfSize);

/** Bytes allocated by `work`, from V8's sampling heap profiler, which also counts collected objects. */
export async function allocatedBytes(work: () => void): Promise<number> {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: HEAP_SAMPLE_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    work();
    const { profile } = await session.post('HeapProfiler.stopSampling');
    return bytesBelow(profile.head);
  } finally {
    session.disconnect();
  }
}
