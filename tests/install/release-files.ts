import { makeRelease } from '@millrace/release';
import { readdirSync } from 'node:fs';
import path from 'node:path';

const TIME = 1_700_000_000;

/** The files of a release: those in MILLRACE_TEST_RELEASE_FILES, or of one that is made for this test. */
export async function releaseFiles(scratch: string): Promise<readonly string[]> {
  const { MILLRACE_TEST_RELEASE_FILES: given } = process.env;
  const folder = given ?? path.join(scratch, 'release');
  if (given === undefined) {
    await makeRelease({ into: folder, time: TIME, secretKey: null, print: () => undefined });
  }
  return readdirSync(folder).map((name) => path.join(folder, name));
}
