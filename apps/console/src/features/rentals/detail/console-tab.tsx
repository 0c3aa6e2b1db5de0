import { useEffect, useRef } from 'react';
import { useApiQuery } from '../../../api/queries.ts';
import { CopyButton } from '../../../ui/copy.tsx';
import { Card } from '../../../ui/page.tsx';
import { EmptyState, QueryView } from '../../../ui/states.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { hasEnded, type Rental } from '../rental.ts';

/** The end of the serial console: why it does not boot, and what it says when it does. */
export function ConsoleTab({ rental }: Readonly<{ rental: Rental }>) {
  const { id: rentalId } = rental;
  const query = useApiQuery(
    ['rentals', 'one', rentalId, 'console'],
    (client, signal) => client.rentals.getConsole({ rentalId }, { signal }),
    { refetchMs: hasEnded(rental) ? false : 5_000 },
  );
  return (
    <Card
      title="Console log"
      about="What the machine writes to its serial console. Passwords do not belong there."
      {...(query.data === undefined
        ? {}
        : { actions: <CopyButton text={query.data.output} what="console log" /> })}
      flush
    >
      <QueryView query={query} what="console log">
        {({ output, truncated, readAt }) =>
          output === '' ? (
            <EmptyState title="Nothing was written yet.">
              {hasEnded(rental) ? 'It ended without a word.' : 'A machine usually writes while it boots.'}
            </EmptyState>
          ) : (
            <>
              <Output text={output} />
              <p className="text-soft border-line border-t px-4 py-2 text-xs">
                {truncated && 'Earlier output is left off. '}Read at <Timestamp at={readAt} />.
              </p>
            </>
          )
        }
      </QueryView>
    </Card>
  );
}

/** Stays at its end while one looks at the end, and where one is when one has scrolled away. */
function Output({ text }: Readonly<{ text: string }>) {
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isAtEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  return (
    <pre
      ref={box}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label="Console log"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 24;
      }}
      className="bg-raised max-h-[60vh] overflow-auto p-4 whitespace-pre-wrap break-all"
    >
      {text}
    </pre>
  );
}
