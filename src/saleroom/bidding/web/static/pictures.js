// Pictures are made smaller before they go up: as wide as the widest version that the house keeps, so nothing is lost.
const KEPT_WIDTH = 1600;
const LEAST_SIDE = 16;
const UNTOUCHED_BYTES = 900_000; // below what servers in front of a house usually allow, which is 1 MB
const QUALITIES = [0.92, 0.85, 0.75, 0.6];

// Returns a smaller JPEG of the picture, upright; otherwise the file itself, for the house to judge.
async function smaller(file) {
  if (file.size <= UNTOUCHED_BYTES) return file;
  let picture;
  try {
    picture = await createImageBitmap(file, { imageOrientation: "from-image" });
  } catch {
    return file; // not a picture, or of a kind that this browser cannot read
  }
  try {
    const scale = Math.min(1, KEPT_WIDTH / picture.width);
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(picture.width * scale);
    canvas.height = Math.round(picture.height * scale);
    if (Math.min(canvas.width, canvas.height) < LEAST_SIDE) return file;
    const paper = canvas.getContext("2d");
    paper.fillStyle = "white"; // as the house does with what lets something through
    paper.fillRect(0, 0, canvas.width, canvas.height);
    paper.imageSmoothingQuality = "high";
    paper.drawImage(picture, 0, 0, canvas.width, canvas.height);
    for (const quality of QUALITIES) {
      const made = await new Promise((done) => { canvas.toBlob(done, "image/jpeg", quality); });
      if (!made) return file;
      if (made.size <= UNTOUCHED_BYTES || quality === QUALITIES.at(-1)) return made.size < file.size ? made : file;
    }
  } finally {
    picture.close();
  }
  return file;
}
