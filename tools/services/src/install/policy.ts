import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

const policyFile = '/usr/sbin/policy-rc.d';
const savedFile = '/usr/sbin/policy-rc.d.millrace-saved';
const marker = '# Written by the Millrace services tool for the length of one installation.';

/**
 * Debian packages start their daemons when they are installed. A policy-rc.d that answers 101 forbids it;
 * ours exists only while packages are installed, and the machine's own, if any, is put back afterwards.
 */
export function forbidPackageStarts(): void {
  restorePackageStarts();
  if (existsSync(policyFile)) renameSync(policyFile, savedFile);
  writeFileSync(policyFile, `#!/bin/sh\n${marker}\nexit 101\n`, { mode: 0o755 });
}

/** Also clears up after an installation that was killed. Touches nothing that is not ours. */
export function restorePackageStarts(): void {
  if (existsSync(policyFile) && readFileSync(policyFile, 'utf8').includes(marker)) rmSync(policyFile);
  if (existsSync(savedFile) && !existsSync(policyFile)) renameSync(savedFile, policyFile);
}
