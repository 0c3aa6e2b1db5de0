import { z } from 'zod';
import type { TestedHardware } from './quarantine-decision.ts';

/** What a self-test wrote about the hardware that it saw, for those who ask later whether it is still the same. Pure. */

const testedHardware = z.object({
  hardware: z.object({
    gpus: z.array(z.object({ pciAddress: z.string(), model: z.string() })),
    cpuCount: z.int(),
    ramMb: z.int(),
  }),
});

/** Null: the test wrote nothing of it. */
export function parseTestedHardware(tests: unknown): TestedHardware | null {
  const read = testedHardware.safeParse(tests);
  return read.success ? read.data.hardware : null;
}
