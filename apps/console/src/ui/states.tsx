import { AlertTriangle, LoaderCircle, type LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { toProblem } from '../api/problem.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy.tsx';
import { LinesSkeleton } from './skeleton.tsx';

/** Waiting without a known layout; `QueryView`, `QueryPage` and `PagedTable` show skeletons. */
export function Loading({ what }: Readonly<{ what: string }>) {
  return (
    <div role="status" className="text-soft animate-appear flex items-center gap-2 px-4 py-6">
      <LoaderCircle aria-hidden className="size-4 animate-spin" />
      Loading {what}…
    </div>
  );
}

interface EmptyStateProps {
  /** Icon of the resource, the same as in the navigation. */
  readonly icon: LucideIcon;
  /** Names the missing resource, such as `No volumes yet`. */
  readonly title: string;
  /** Purpose of the resource. */
  readonly children?: ReactNode;
  /** First action. */
  readonly action?: ReactNode;
}

/** Empty list: the purpose of the resource, and the first action. */
export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps) {
  return (
    <div className="flex flex-col items-center px-4 py-12 text-center">
      <span className="bg-accent-soft text-accent-strong mb-3 inline-flex size-11 items-center justify-center rounded-full">
        <Icon aria-hidden className="size-5" />
      </span>
      <p className="text-base font-semibold">{title}</p>
      {children !== undefined && <div className="text-soft mt-1 max-w-md text-pretty">{children}</div>}
      {action !== undefined && (
        <div className="mt-4 flex flex-wrap items-center justify-center gap-2">{action}</div>
      )}
    </div>
  );
}

interface ProblemProps {
  readonly error: unknown;
  /** Verb phrase for "Could not …", such as `load the rentals`. */
  readonly doing?: string;
  readonly retry?: () => void;
}

/** Shows an error with advice, request id and retry. */
export function Problem({ error, doing, retry }: ProblemProps) {
  const { title, advice, requestId, docUrl, reason, isOutage } = toProblem(error);
  return (
    <div role="alert" className="bg-bad-soft text-ink m-0 flex gap-2.5 rounded-md px-3 py-2.5">
      <AlertTriangle aria-hidden className="text-bad mt-0.5 size-4 shrink-0" />
      <div className="min-w-0 flex-1">
        {doing !== undefined && <p className="text-soft text-xs">Could not {doing}.</p>}
        <p className="font-medium break-words">{title}</p>
        {advice !== null && <p className="break-words">{advice}</p>}
        {(requestId !== null || docUrl !== null || isOutage) && (
          <p className="text-soft mt-1 flex flex-wrap items-center gap-x-2 text-xs">
            {requestId !== null && (
              <span className="inline-flex items-center gap-1">
                Request <code className="break-all">{requestId}</code>
                <CopyButton text={requestId} what="request id" />
              </span>
            )}
            {docUrl !== null && reason !== null && (
              <a className="underline" href={docUrl}>
                About {reason}
              </a>
            )}
            {isOutage && (
              <a className="underline" href="/status">
                Service status
              </a>
            )}
          </p>
        )}
        {retry !== undefined && (
          <div className="mt-2">
            <Button size="small" onClick={retry}>
              Try again
            </Button>
          </div>
        )}
      </div>
    </div>
  );
}

const noteClasses = {
  info: 'bg-info-soft',
  good: 'bg-good-soft',
  warn: 'bg-warn-soft',
  bad: 'bg-bad-soft',
} as const;

export function Note(props: Readonly<{ tone?: keyof typeof noteClasses; children: ReactNode }>) {
  const { tone = 'info', children } = props;
  return <div className={`rounded-md px-3 py-2 ${noteClasses[tone]}`}>{children}</div>;
}

interface QueryState<Data> {
  readonly data: Data | undefined;
  readonly error: Error | null;
  readonly refetch: () => unknown;
}

interface QueryViewProps<Data> {
  readonly query: QueryState<Data>;
  /** Plural noun, such as `rentals`. */
  readonly what: string;
  /** Shown while loading; a skeleton as high as the content avoids layout shift. */
  readonly skeleton?: ReactNode;
  readonly children: (data: Data) => ReactNode;
}

/** Shows loaded data, or why it is missing. An error while refreshing appears above the old data. */
export function QueryView<Data>({ query, what, skeleton, children }: QueryViewProps<Data>) {
  const { data, error } = query;
  const retry = (): void => void query.refetch();
  if (data === undefined) {
    return error === null ? (
      (skeleton ?? <LinesSkeleton what={what} />)
    ) : (
      <div className="p-4">
        <Problem error={error} doing={`load the ${what}`} retry={retry} />
      </div>
    );
  }
  return (
    <>
      {error !== null && (
        <div className="p-4">
          <Problem
            error={error}
            doing={`refresh the ${what}. The data shown may be out of date`}
            retry={retry}
          />
        </div>
      )}
      {children(data)}
    </>
  );
}
