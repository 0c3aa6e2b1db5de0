import { readFileSync } from 'node:fs';

/** Processor time and memory of a process, as the kernel counts them. */

// The kernel counts in ticks of USER_HZ, which is 100 on every Linux that Node supports.
const tickUs = 10_000;

/** User and system time of all threads of a process; 0 if it has ended. */
export function processorUs(pid: number): number {
  try {
    // The name in parentheses may contain spaces; utime and stime are the 12th and 13th field after it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * tickUs;
  } catch {
    return 0;
  }
}

/** Memory that a process occupies, to a tenth. */
export function residentMib(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kib) / 102.4) / 10;
}
