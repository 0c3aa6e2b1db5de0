import { execFileSync } from 'node:child_process';
import { productFolder } from '@millrace/platform/release';

const git = (...words: readonly string[]): string =>
  execFileSync('git', ['-C', productFolder, ...words], { encoding: 'utf8' }).trim();

/**
 * The time of every file in a release, in seconds since 1970: that of the commit, so that two builds are equal. Outside a clone,
 * SOURCE_DATE_EPOCH sets it.
 */
export function readBuildTime(): number {
  const { SOURCE_DATE_EPOCH: given } = process.env;
  const text = given ?? git('log', '-1', '--format=%ct');
  const seconds = Number(text);
  if (!Number.isSafeInteger(seconds) || seconds <= 0) {
    throw new Error(`SOURCE_DATE_EPOCH is ${JSON.stringify(text)}, which is not a time in seconds.`);
  }
  return seconds;
}

/** Changed and untracked files. */
export function listChangedFiles(): readonly string[] {
  const changed = git('ls-files', '--modified', '--others', '--exclude-standard', '--deduplicate');
  const staged = git('diff', '--cached', '--name-only');
  return [...changed.split('\n'), ...staged.split('\n')].filter((file) => file !== '');
}
