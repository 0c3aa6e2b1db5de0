import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';

export function CopyButton({ text, what }: Readonly<{ text: string; what: string }>) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <button
      type="button"
      className="text-soft hover:bg-raised hover:text-ink inline-flex size-6 shrink-0 items-center justify-center rounded"
      aria-label={copied ? `Copied ${what}` : `Copy ${what}`}
      onClick={() => {
        void navigator.clipboard.writeText(text).then(() => setCopied(true));
      }}
    >
      {copied ? (
        <Check aria-hidden className="text-good size-3.5" />
      ) : (
        <Copy aria-hidden className="size-3.5" />
      )}
    </button>
  );
}

export function Id({ value, what }: Readonly<{ value: string; what: string }>) {
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      <code className="break-all">{value}</code>
      <CopyButton text={value} what={what} />
    </span>
  );
}

interface CodeBlockProps {
  readonly code: string;
  /** Noun for the copy button, such as `SSH command`. */
  readonly what: string;
  readonly label?: string;
}

export function CodeBlock({ code, what, label }: CodeBlockProps) {
  return (
    <figure className="min-w-0">
      {label !== undefined && <figcaption className="text-soft mb-1 text-xs">{label}</figcaption>}
      <div className="border-line bg-raised flex items-start gap-1 rounded-md border py-1.5 pr-1.5 pl-3">
        {/* Wraps instead of scrolling, so that nothing of a command is hidden on a narrow screen. */}
        <pre
          aria-label={what}
          role="region"
          className="min-w-0 flex-1 py-0.5 wrap-anywhere whitespace-pre-wrap"
        >
          {code}
        </pre>
        <CopyButton text={code} what={what} />
      </div>
    </figure>
  );
}

/** Shows the CLI command that does the same as this page. */
export function CommandHint({ command }: Readonly<{ command: string }>) {
  return (
    <div data-after-content>
      <CodeBlock code={command} what="equivalent command" label="CLI equivalent" />
    </div>
  );
}
