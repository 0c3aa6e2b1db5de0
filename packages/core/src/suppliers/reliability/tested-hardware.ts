import { z } from 'zod';
import type { TestedHardware } from './quarantine-decision.ts';

/** Parses the hardware that a self-test recorded, to compare it later. */

const testedHardware = z.object({
  hardware: z.object({
    gpus: z.array(z.object({ pciAddress: z.string(), model: z.string() })),
    cpuCount: z.int(),
    ramMb: z.int(),
  }),
});

/** Null if the test recorded no hardware. */
export function parseTestedHardware(tests: unknown): TestedHardware | null {
  const read = testedHardware.safeParse(tests);
  return read.success ? read.data.hardware : null;
}
