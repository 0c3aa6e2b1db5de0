/**
 * stable-diffusion.cpp reads its own options out of a prompt, between these tags, and obeys them: sizes and steps that
 * were not paid for, files of its machine. A client's text therefore never holds one.
 */
const block = /<sd_cpp_extra_args>.*?<\/sd_cpp_extra_args>/gis;
const tag = /<\/?sd_cpp_extra_args>/gi;

/** Again and again: what is left around a removed piece may be another. Half a pair goes only when there is no whole one. */
export function withoutEngineOptions(text: string): string {
  let stripped = text;
  for (let before = ''; before !== stripped;) {
    before = stripped;
    const withoutBlocks = stripped.replaceAll(block, '');
    stripped = withoutBlocks === before ? before.replaceAll(tag, '') : withoutBlocks;
  }
  return stripped;
}
