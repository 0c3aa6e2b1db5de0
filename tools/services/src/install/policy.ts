import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

const policyFile = '/usr/sbin/policy-rc.d';
const savedFile = '/usr/sbin/policy-rc.d.millrace-saved';
const marker = '# Written by the Millrace services tool for the length of one installation.';

/**
 * Debian packages start their daemons on installation unless policy-rc.d exits with 101. The machine's own file is restored
 * later.
 */
export function forbidPackageStarts(): void {
  restorePackageStarts();
  if (existsSync(policyFile)) renameSync(policyFile, savedFile);
  writeFileSync(policyFile, `#!/bin/sh\n${marker}\nexit 101\n`, { mode: 0o755 });
}

/** Also cleans up after a killed installation. Only files with our marker are removed. */
export function restorePackageStarts(): void {
  if (existsSync(policyFile) && readFileSync(policyFile, 'utf8').includes(marker)) rmSync(policyFile);
  if (existsSync(savedFile) && !existsSync(policyFile)) renameSync(savedFile, policyFile);
}
