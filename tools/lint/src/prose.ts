import { fieldTerms, phrasesRefusedInProse, wordsRefusedInProse } from './refused-words.ts';

/** Code spans, addresses and placeholders; names in them are checked where they are declared. */
const code = /`[^`]*`|https?:\/\/\S+|\$\{[^}]*\}|\S*[_/@#=]\S*|\b[a-z]\w*\.[a-z]\w*|\b[A-Z]{4,}\b/g;

/** Matches sentences that start with a relative pronoun instead of a noun. Questions are allowed. */
const startsWithoutNoun =
  /(?:^|[.:;]\s+|\n\s*)(?:What|Who|Whoever|Whatever|Whose|Nobody)\b(?! (?:to do|happened)\b)[^.?!:]*(?=[.!:]|$)/;

/** Problems of a text, each with a message that says what to write instead. */
export function proseProblems(text: string): string[] {
  const plain = text.replaceAll(code, ' x ');
  let lower = plain.toLowerCase().replaceAll(/\s+/g, ' ');
  for (const term of fieldTerms) lower = lower.replaceAll(term, 'x');
  const words = new Set(lower.split(/[^a-z]+/).filter((word) => Object.hasOwn(wordsRefusedInProse, word)));
  const phrases = phrasesRefusedInProse.flatMap(([phrase, instead]): [string, string][] => {
    const found = phrase.exec(lower);
    return found ? [[found[0], instead]] : [];
  });
  const refused = [
    ...[...words].map((word): [string, string] => [word, wordsRefusedInProse[word] ?? '']),
    ...phrases,
  ];
  const problems = refused.map(
    ([word, instead]) => `"${word}" has to be read twice. Write, for example: ${instead}.`,
  );
  const start = startsWithoutNoun.exec(plain);
  if (start)
    problems.push(
      `"${start[0].trim().replaceAll(/\s+/g, ' ').slice(0, 40)}" leaves out its noun. Start the sentence with that noun.`,
    );
  return problems;
}
