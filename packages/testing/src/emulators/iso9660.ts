// Reads the ISO 9660 images that engines create as virtual disks; supports no more than these need.

const sectorBytes = 2048;
const firstDescriptor = 16;

interface Entry {
  readonly name: string;
  readonly isFolder: boolean;
  readonly at: number;
  readonly bytes: number;
}

/** All files of an image by path, with the long names of its Joliet tree. */
export function readIso(image: Buffer): ReadonlyMap<string, Buffer> {
  const root = jolietRoot(image);
  const files = new Map<string, Buffer>();
  const walk = (folder: Entry, prefix: string): void => {
    for (const entry of entriesOf(image, folder)) {
      const path = `${prefix}${entry.name}`;
      if (entry.isFolder) walk(entry, `${path}/`);
      else files.set(path, image.subarray(entry.at, entry.at + entry.bytes));
    }
  };
  walk(root, '');
  return files;
}

/** The root folder of the supplementary descriptor, whose escape sequences mark names in UCS-2. */
function jolietRoot(image: Buffer): Entry {
  for (let sector = firstDescriptor; (sector + 1) * sectorBytes <= image.length; sector += 1) {
    const descriptor = image.subarray(sector * sectorBytes, (sector + 1) * sectorBytes);
    const [type] = descriptor;
    if (descriptor.toString('latin1', 1, 6) !== 'CD001' || type === 255) break;
    const isJoliet = type === 2 && /^%\/[@CE]/.test(descriptor.toString('latin1', 88, 91));
    if (isJoliet) return entryAt(descriptor, 156);
  }
  throw new Error('This is not an ISO 9660 image with a Joliet tree.');
}

function entryAt(buffer: Buffer, offset: number): Entry {
  const nameBytes = buffer[offset + 32] ?? 0;
  const raw = Buffer.from(buffer.subarray(offset + 33, offset + 33 + nameBytes));
  const name = nameBytes === 1 ? '' : raw.swap16().toString('utf16le');
  return {
    name: name.replace(/;\d+$/, ''),
    isFolder: ((buffer[offset + 25] ?? 0) & 2) !== 0,
    at: buffer.readUInt32LE(offset + 2) * sectorBytes,
    bytes: buffer.readUInt32LE(offset + 10),
  };
}

/** The first two entries of a folder, which are itself and its parent, have names of one byte. */
function entriesOf(image: Buffer, folder: Entry): Entry[] {
  const entries: Entry[] = [];
  const end = folder.at + folder.bytes;
  for (let offset = folder.at; offset < end;) {
    const length = image[offset] ?? 0;
    if (length === 0) {
      // An entry does not cross a sector boundary; the rest of the sector is empty.
      offset = (Math.floor(offset / sectorBytes) + 1) * sectorBytes;
      continue;
    }
    if ((image[offset + 32] ?? 0) > 1) entries.push(entryAt(image, offset));
    offset += length;
  }
  return entries;
}
