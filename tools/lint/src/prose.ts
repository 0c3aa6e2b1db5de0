import { fieldTerms, phrasesRefusedInProse, wordsRefusedInProse } from './refused-words.ts';

/** Code, addresses, placeholders and reason codes such as GONE: names there are checked where they are declared. */
const code = /`[^`]*`|https?:\/\/\S+|\$\{[^}]*\}|\S*[_/@#=]\S*|\b[a-z]\w*\.[a-z]\w*|\b[A-Z]{4,}\b/g;

/** A sentence about "what …" or "who …" leaves out its noun. A question may begin so. */
const startsWithoutNoun =
  /(?:^|[.:;]\s+|\n\s*)(?:What|Who|Whoever|Whatever|Whose|Nobody)\b(?! (?:to do|happened)\b)[^.?!:]*(?=[.!:]|$)/;

/** Refused words and phrases in a text of people's language, each with a message that says what to write instead. */
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
      `"${start[0].trim().replaceAll(/\s+/g, ' ').slice(0, 40)}" leaves out its noun. Begin with the thing that it is about.`,
    );
  return problems;
}
