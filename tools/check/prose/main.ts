import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { pageProseProblems, percentile, proseOf, sentenceLengths } from '../src/prose.ts';

// Checks the words, sentence lengths and table cells of every document.
const root = join(import.meta.dirname, '../../..');
const maxSentenceWords = 30;

/** The interface specification is quoted verbatim, and fixtures violate the rules on purpose. */
const isQuoted = (file: string): boolean =>
  file === 'docs/interface.md' || file.startsWith('tools/lint/fixtures/') || file.startsWith('fixtures/');

const pages = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((file) => file !== '' && !isQuoted(file))
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));

const lengths = pages.flatMap(({ text }) => proseOf(text).texts.flatMap(sentenceLengths));
const longest = percentile(lengths, 0.95);
const problems = pages.flatMap(pageProseProblems);
if (longest > maxSentenceWords) {
  problems.push(`95 of 100 sentences have up to ${longest} words; the limit is ${maxSentenceWords}.`);
}

console.log(
  `${lengths.length} sentences in ${pages.length} documents; 95 of 100 have at most ${longest} words.`,
);
for (const problem of problems) console.log(problem);
if (problems.length > 0) process.exitCode = 1;
