/** Formats dates for the reader's locale. The format is made at its first use, because the first of a page takes 40 ms. */
export function dateFormat(options: Intl.DateTimeFormatOptions): (at: Date) => string {
  let format: Intl.DateTimeFormat | undefined;
  return (at) => (format ??= new Intl.DateTimeFormat(undefined, options)).format(at);
}
