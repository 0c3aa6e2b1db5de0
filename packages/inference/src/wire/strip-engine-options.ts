/**
 * stable-diffusion.cpp reads its own options out of a prompt, between these tags, and obeys them: sizes and steps that
 * were not paid for, files of its machine. A client's text therefore never holds one.
 */
const anyTag = /<\/?sd_cpp_extra_args>/i;
const openTag = '<sd_cpp_extra_args>';
const closeTag = '</sd_cpp_extra_args>';
const closingBracket = '>'.charCodeAt(0);

/**
 * Removes each pair of tags with the text between them, and tags without a partner. Removing a piece may join the text around
 * it to another tag. Therefore the kept text is built character by character and its end is compared with the tags after
 * each `>`: one pass, in time proportional to the length, whatever the text holds.
 */
export function stripEngineOptions(text: string): string {
  if (!anyTag.test(text)) return text;
  const output = new Uint16Array(text.length);
  let length = 0;
  /** Where the first open tag without a partner stood. */
  let openedAt: number | null = null;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    output[length] = code;
    length += 1;
    if (code !== closingBracket) continue;
    if (endsWithTag(output, length, openTag)) {
      length -= openTag.length;
      openedAt = Math.min(openedAt ?? length, length);
    } else if (endsWithTag(output, length, closeTag)) {
      length -= closeTag.length;
      length = Math.min(openedAt ?? length, length);
      openedAt = null;
    }
  }
  return Buffer.from(output.buffer, 0, length * Uint16Array.BYTES_PER_ELEMENT).toString('utf16le');
}

/** Compares without regard to the case of ASCII letters, as the engine does. */
function endsWithTag(codes: Uint16Array, length: number, tag: string): boolean {
  const start = length - tag.length;
  if (start < 0) return false;
  for (let at = 0; at < tag.length; at += 1) {
    const code = codes[start + at] ?? 0;
    const lower = code >= 0x41 && code <= 0x5a ? code + 0x20 : code;
    if (lower !== tag.charCodeAt(at)) return false;
  }
  return true;
}
