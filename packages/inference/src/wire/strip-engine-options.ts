/** stable-diffusion.cpp obeys options between these tags: unpaid sizes and steps, files of its host. So prompts lose them. */
const anyTag = /<\/?sd_cpp_extra_args>/i;
const openTag = '<sd_cpp_extra_args>';
const closeTag = '</sd_cpp_extra_args>';
const closingBracket = '>'.charCodeAt(0);

/**
 * Removes tag pairs with the text between them, and unpaired tags. A removal can join the surrounding text to another tag, so the
 * end of the kept text is compared after each `>`: one pass, in linear time.
 */
export function stripEngineOptions(text: string): string {
  if (!anyTag.test(text)) return text;
  const output = new Uint16Array(text.length);
  let length = 0;
  /** Position of the first open tag without a closing one. */
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

/** Ignores the case of ASCII letters, as the engine does. */
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
