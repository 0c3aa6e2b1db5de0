import type { ReactNode } from 'react';

export function Section({ title, children }: Readonly<{ title: string; children: ReactNode }>) {
  return (
    // Sections beside one with a placeholder are hidden, and this page always shows placeholders.
    <div>
      <section aria-label={title} className="border-line mb-section border-t pt-4">
        <h2 className="mb-4">{title}</h2>
        <div className="flex flex-col gap-6">{children}</div>
      </section>
    </div>
  );
}

/** One component or state with its name. */
export function Example({ name, children }: Readonly<{ name: string; children: ReactNode }>) {
  return (
    <div className="min-w-0">
      <h3 className="text-soft mb-2 text-xs font-medium">{name}</h3>
      {children}
    </div>
  );
}
